// SPDX-License-Identifier: Apache-2.0

// One connection, one datagram of a connected socket and one of a socket that is not, to each address: prints whom the
// server saw, and whom this side does.
package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"time"
)

const (
	port     = "7777"
	patience = 10 * time.Second
)

// What the server answers, and by which address this side knows it.
type view [2]string

func ended(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "echo_client:", err)
		os.Exit(1)
	}
}

func hostOf(address net.Addr) string {
	host, _, err := net.SplitHostPort(address.String())
	ended(err)
	return host
}

func connected(network, address string) view {
	connection, err := net.DialTimeout(network, net.JoinHostPort(address, port), patience)
	ended(err)
	defer connection.Close()
	ended(connection.SetDeadline(time.Now().Add(patience)))
	_, err = connection.Write([]byte("x"))
	ended(err)
	answer := make([]byte, 64)
	count, err := connection.Read(answer)
	ended(err)
	return view{string(answer[:count]), hostOf(connection.RemoteAddr())}
}

// A socket of both families, as Go's servers have.
func unconnected(address string) view {
	socket, err := net.ListenPacket("udp", ":0")
	ended(err)
	defer socket.Close()
	ended(socket.SetDeadline(time.Now().Add(patience)))
	to, err := net.ResolveUDPAddr("udp", net.JoinHostPort(address, port))
	ended(err)
	_, err = socket.WriteTo([]byte("x"), to)
	ended(err)
	answer := make([]byte, 64)
	count, from, err := socket.ReadFrom(answer)
	ended(err)
	return view{string(answer[:count]), hostOf(from)}
}

func main() {
	seen := []view{}
	for _, address := range os.Args[1:] {
		seen = append(seen, connected("tcp", address), connected("udp", address), unconnected(address))
	}
	ended(json.NewEncoder(os.Stdout).Encode(seen))
}
