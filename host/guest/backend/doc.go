// Package backend lets host/kubeapi serve from the module: kubectl and informers
// then read what the engine under wazero keeps.
//
//	api := kubeapi.New(kubeapi.Config{Backend: backend.New(client, catalog.All())})
//
// A resource's collection is opened when somebody first asks for it, and stays
// open until [Backend.Close].
//
// # Lists
//
// What the engine hands out at once lies in its memory, which never shrinks. So
// a list without a limit is taken in pages behind the client's back, all as of
// one version, and a limit above the size of such a page is cut down to it,
// which a client must expect (rule P16). A history that forgets that version
// before a slow client has taken the last page breaks the list off.
package backend
