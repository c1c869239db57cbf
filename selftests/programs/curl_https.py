# SPDX-License-Identifier: GPL-2.0-only
"""curl and nginx with TLS, HTTP/1.1 and HTTP/2."""

from harness import case
from nginx import nginx
from stage import Stage, over_smcr

PORT = 8443
HOME = "/tmp/https"
HTTP = f"""
    client_max_body_size 8m;
    client_body_temp_path {HOME}/body;
    server {{
        listen {PORT} ssl http2;
        ssl_certificate {HOME}/certificate;
        ssl_certificate_key {HOME}/key;
        root {HOME}/www;
        dav_methods PUT DELETE;
    }}
"""


def prepare(stage: Stage) -> None:
    stage.server.run(f"""set -e
        rm -rf {HOME} && mkdir -p {HOME}/www
        seq 500000 >{HOME}/www/large
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 \\
            -subj /CN=server -addext subjectAltName=IP:{stage.address} \\
            -keyout {HOME}/key -out {HOME}/certificate 2>&1""")
    certificate = stage.server.get(f"{HOME}/certificate")
    stage.client.run(f"mkdir -p {HOME} && seq 400000 >{HOME}/upload")
    stage.client.put(f"{HOME}/certificate", certificate)


def curl_https(stage: Stage) -> dict:
    prepare(stage)
    curl = f"curl -sS --fail --cacert {HOME}/certificate"
    url = f"https://{stage.address}:{PORT}"
    written = "-w '%{http_code} %{http_version} %{num_connects} %{size_download}\\n' -o"
    with nginx(stage, HOME, PORT, HTTP):
        got = {}
        for version in ("--http1.1", "--http2"):
            got[version] = stage.run(f"{curl} {version} {written} {HOME}/got {url}/large"
                                     f" {written} /dev/null {url}/large").out
            got[version] += stage.client.run(f"sha256sum <{HOME}/got").out
            stage.run(f"{curl} {version} -T {HOME}/upload {url}/upload{version}")
            got[version] += stage.server.run(f"sha256sum <{HOME}/www/upload{version}").out
        stage.client.run(f"head -c 1000000 {HOME}/got >{HOME}/rest")
        stage.run(f"{curl} -C - -o {HOME}/rest {url}/large")
        several = " ".join(f"-o {HOME}/parallel{index} {url}/large" for index in range(4))
        stage.run(f"{curl} --http1.1 --parallel --parallel-immediate {several}")
        same = stage.client.run(f"for other in rest parallel0 parallel1 parallel2 parallel3; do"
                                f" cmp {HOME}/got {HOME}/$other || exit; done").rc
        untrusted = stage.run(f"curl -sS {url}/large", check=False).rc
    wanted = stage.client.run(f"sha256sum <{HOME}/upload").out
    assert all(said.endswith(wanted) for said in got.values()), f"{got}, uploaded {wanted}"
    return {"got": got, "same": same, "untrusted": untrusted}


@case(on="ours+ours")
def curl_over_smcr(vm):
    over_smcr(vm, curl_https)
