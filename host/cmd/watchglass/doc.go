// Command watchglass shows changes in a cluster. It contains the connector that serves
// readers, readers for the terminal, and a demo.
//
// main.go cancels a context on signals. Every command is a function of its flags, a
// context and two writers, so that tests run commands in the process. The common
// part of serve and demo, a connector behind an HTTP server, is in host.go.
package main
