// Command watchglass shows what changes in a cluster: a demo that needs nothing
// else, the connector that serves readers, and readers for the terminal.
//
// main.go turns signals into the end of a context; every command is a function
// of its flags, a context and two writers, so that tests run commands in the
// process. host.go is what serve and demo have in common: a connector behind an
// HTTP server.
package main
