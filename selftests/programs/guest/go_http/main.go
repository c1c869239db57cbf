// SPDX-License-Identifier: GPL-2.0-only

// A web server and a client by net/http, linked statically: no library of theirs calls socket().
//
//	go_http serve PORT
//	go_http ask HOST:PORT     prints what came back, as hashes
package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"sync"
)

const (
	requests = 40
	parallel = 4
	length   = 1_000_003
)

func serve(port string) error {
	http.HandleFunc("/echo", func(to http.ResponseWriter, from *http.Request) {
		// All of it first: from the first byte of the answer on the server reads no more.
		body, err := io.ReadAll(from.Body)
		if err == nil {
			_, err = to.Write(body)
		}
		if err != nil {
			log.Print(err)
		}
	})
	return http.ListenAndServe(":"+port, nil)
}

// Its length depends on number, its bytes on seed.
func body(number, seed int) []byte {
	bytes := make([]byte, length/(number+1))
	for i := range bytes {
		bytes[i] = byte(i*31 + seed + i>>8)
	}
	return bytes
}

func ask(client *http.Client, url string, number, seed int) error {
	sent := body(number, seed)
	answer, err := client.Post(url, "application/octet-stream", bytes.NewReader(sent))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, sent) {
		return fmt.Errorf("%d bytes of %d came back, or others", len(got), len(sent))
	}
	if seed == 0 {
		fmt.Printf("%d %x\n", number, sha256.Sum256(got))
	}
	return nil
}

// Half of the clients keep their connections.
func askAll(address string) error {
	var group sync.WaitGroup
	failures := make(chan error, parallel)

	for seed := 0; seed < parallel; seed++ {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: seed%2 == 1}}
		group.Add(1)
		go func(seed int) {
			defer group.Done()
			defer client.CloseIdleConnections()
			for number := 0; number < requests; number++ {
				if err := ask(client, "http://"+address+"/echo", number, seed); err != nil {
					failures <- err
					return
				}
			}
		}(seed)
	}
	group.Wait()
	close(failures)
	return <-failures
}

func main() {
	var err error
	if os.Args[1] == "serve" {
		err = serve(os.Args[2])
	} else {
		err = askAll(os.Args[2])
	}
	if err != nil {
		log.Fatal(err)
	}
}
