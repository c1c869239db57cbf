// SPDX-License-Identifier: GPL-2.0-only

import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Arrays;
import java.util.concurrent.Executors;

/**
 * A web server and a client of the JDK.
 *
 * <p>JavaHttp serve PORT; JavaHttp ask HOST PORT prints the hashes of what came back.
 */
final class JavaHttp {
    private static final int REQUESTS = 10;
    private static final int LENGTH = 300_007;

    private static void serve(int port) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress(port), 8);

        server.createContext("/echo", exchange -> {
            byte[] body = exchange.getRequestBody().readAllBytes();
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.setExecutor(Executors.newCachedThreadPool());
        server.start();
    }

    private static void ask(String host, int port) throws Exception {
        URI uri = URI.create("http://" + host + ":" + port + "/echo");
        HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

        for (int number = 0; number < REQUESTS; number++) {
            byte[] sent = new byte[LENGTH / (number + 1)];
            for (int i = 0; i < sent.length; i++) {
                sent[i] = (byte) (i * 31 + number);
            }
            HttpRequest request = HttpRequest.newBuilder(uri)
                    .POST(HttpRequest.BodyPublishers.ofByteArray(sent)).build();
            byte[] got = client.send(request, HttpResponse.BodyHandlers.ofByteArray()).body();
            if (!Arrays.equals(got, sent)) {
                throw new AssertionError(got.length + " bytes of " + sent.length);
            }
            System.out.println(number + " " + Arrays.hashCode(got));
        }
    }

    public static void main(String[] words) throws Exception {
        if (words[0].equals("serve")) {
            serve(Integer.parseInt(words[1]));
        } else {
            ask(words[1], Integer.parseInt(words[2]));
            // Its selector's thread would go on for a while.
            System.exit(0);
        }
    }
}
