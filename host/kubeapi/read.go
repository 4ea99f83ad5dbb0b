package kubeapi

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/watchglass/watchglass/core/api"
)

// encoder returns an encoder for the chosen conversion.
func (r *request) encoder(c conversion) encoder {
	return encoder{schema: r.schema, as: c.as, include: r.include, now: time.Now().UnixMilli()}
}

func table() conversion { return conversion{asTable, metaGroup, "v1"} }

func metadata() conversion { return conversion{asMetadata, metaGroup, "v1"} }

func metadataList() conversion { return conversion{asMetadataList, metaGroup, "v1"} }

// get responds with one object.
func (h *Handler) get(w http.ResponseWriter, r *http.Request, req *request) *api.Status {
	chosen, status := negotiate(r.Header, table(), metadata())
	if status != nil {
		return status
	}
	o, err := h.config.Backend.Get(r.Context(), req.resource, api.NewKey(req.namespace, req.name), req.resourceVersion)
	if errors.Is(err, api.NotFound("")) {
		return api.NotFound(req.resource.Name + groupSuffix(req.resource) + " " + strconv.Quote(req.name) + " not found")
	}
	if err != nil {
		return asStatus(err)
	}
	enc := req.encoder(chosen)
	body := newBody(w, r)
	body.write(append(enc.appendSingle(nil, o), '\n'))
	body.close()
	return nil
}

func groupSuffix(r api.Resource) string {
	if r.Group == "" {
		return ""
	}
	return "." + r.Group
}

func (r *request) listOptions(client string) ListOptions {
	return ListOptions{
		Client: client, Namespace: r.namespace, Selection: r.selection,
		ResourceVersion: r.resourceVersion, Match: r.match, Limit: r.limit, Continue: r.cont,
	}
}

// maxWarnings limits the Warning headers of a response.
const maxWarnings = 10

// list responds with a list or, if the client set a limit, with one page of it.
func (h *Handler) list(w *output, r *http.Request, req *request) *api.Status {
	chosen, status := negotiate(r.Header, table(), metadataList())
	if status != nil {
		return status
	}
	list, err := h.config.Backend.List(r.Context(), req.resource, req.listOptions(clientOf(r, req.user)))
	if err != nil {
		return asStatus(err)
	}
	for _, text := range list.Warnings[:min(len(list.Warnings), maxWarnings)] {
		w.Header().Add("Warning", "299 - "+string(appendText(nil, text)))
	}
	enc := req.encoder(chosen)
	body := newBody(w, r)
	switch err := writeList(body, &enc, list); {
	case err == nil:
		return nil
	case !body.begun:
		return asStatus(err)
	default:
		// Abort the connection, so that the client does not accept the partial list as
		// complete.
		w.code = asStatus(err).Code
		panic(http.ErrAbortHandler)
	}
}

// writeList writes each item of a list while it reads the list. If reading an item fails,
// writeList returns the error and leaves the body incomplete.
func writeList(body *body, enc *encoder, list *List) error {
	chunk := enc.appendListHead(nil, listMeta{list.ResourceVersion.String(), list.Continue, list.Remaining})
	first := true
	for o, err := range list.Items {
		if err != nil {
			return err
		}
		if !first {
			chunk = append(chunk, ',')
		}
		first = false
		if chunk = enc.appendItem(chunk, o); len(chunk) >= chunkBytes {
			if !body.write(chunk) {
				return nil // the client has disconnected
			}
			chunk = chunk[:0]
		}
	}
	body.write(append(chunk, "]}\n"...))
	body.close()
	return nil
}
