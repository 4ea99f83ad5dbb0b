// Command watchglass sends the changes of a Kubernetes cluster to readers. It contains
// the connector, commands that read from a connector in a terminal, and a demo.
//
// main.go cancels a context on signals. Every command is a function of its flags, a
// context and two writers, so that tests can run commands in the test process. The
// common part of serve and demo, a connector behind an HTTP server, is in host.go.
package main
