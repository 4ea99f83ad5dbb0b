// Package audit records the decisions about clients. It counts the decisions, logs
// refused tokens, and writes an audit log of reads.
//
// Each line of the audit log is a JSON object, an [Event]. Every get, list, watch and
// subscription has a line for its decision, written before the client receives any data.
// Another line follows if the right is withdrawn later. A refused token has a line as
// well. An accepted token has no line, because the lines of the following reads name the
// user. Tokens and objects are never written.
//
// Lines are written one at a time. As in kube-apiserver, each request waits until its line
// is written, so that no event is lost. A line that cannot be written is counted and
// logged, and the request continues. Unauthenticated clients cannot fill the disk: long
// texts are truncated, and refused tokens beyond a rate limit have no line. The next line
// about a refused token contains the number of omitted lines.
package audit
