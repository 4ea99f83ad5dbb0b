// Package backend lets host/kubeapi serve the Kubernetes API from the WebAssembly module.
// kubectl and informers then read the state of the engine that runs under wazero.
//
//	api := kubeapi.New(kubeapi.Config{Backend: backend.New(client, catalog.All())})
//
// The first request for a resource opens its collection, which stays open until
// [Backend.Close].
//
// # Lists
//
// The engine writes its output to the memory of the module, which never shrinks. The
// backend therefore reads a list without a limit in pages, which the client does not see.
// All pages have the same resource version. A limit above the page size is reduced to the
// page size; clients must expect short pages (rule P16). If the history evicts the version
// of a list before a slow client has read the last page, the backend aborts the list.
package backend
