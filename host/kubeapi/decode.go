package kubeapi

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/http"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/watchglass/watchglass/core/api"
)

// protobufType is the media type in which client-go and kubectl send reviews.
const protobufType = "application/vnd.kubernetes.protobuf"

// decodeReview decodes a review from JSON or protobuf. The kind and apiVersion in the
// body must match the resource, unless both are absent.
func decodeReview(mediaType string, body []byte, resource *Resource) (*review, *api.Status) {
	parsed, _, err := mime.ParseMediaType(mediaType)
	if mediaType == "" {
		parsed, err = contentType, nil
	}
	decoded := &review{}
	switch {
	case err == nil && parsed == contentType:
		err = json.Unmarshal(body, decoded)
	case err == nil && parsed == protobufType:
		err = decodeProtobuf(body, decoded)
	default:
		return nil, &api.Status{Code: http.StatusUnsupportedMediaType, Reason: reasonUnsupportedMedia,
			Message: "the body of the request was in an unknown format: expected " + contentType + " or " + protobufType}
	}
	if err != nil {
		return nil, api.BadRequest("the body of the request is not a " + resource.Kind + ": " + err.Error())
	}
	if decoded.Kind == "" && decoded.APIVersion == "" {
		decoded.Kind, decoded.APIVersion = resource.Kind, resource.APIVersion()
	}
	if decoded.Kind != resource.Kind || decoded.APIVersion != resource.APIVersion() {
		return nil, api.BadRequest("the body of the request is a " + strconv.Quote(decoded.Kind) + " of " + strconv.Quote(decoded.APIVersion) +
			": expected " + resource.Kind + " of " + resource.APIVersion())
	}
	decoded.Status = nil
	return decoded, nil
}

// protobufPrefix is the prefix of every Kubernetes protobuf body. The rest of the body is a
// message of type k8s.io.apimachinery.pkg.runtime.Unknown.
var protobufPrefix = []byte("k8s\x00")

type protobufError string

func (e protobufError) Error() string { return "protobuf: " + string(e) }

// field is a field number of a protobuf message.
type field = protowire.Number

// decodeProtobuf decodes a self review. The field numbers come from generated.proto in
// k8s.io/api/authorization/v1 and k8s.io/apimachinery/pkg/runtime.
func decodeProtobuf(body []byte, into *review) error {
	message, ok := bytes.CutPrefix(body, protobufPrefix)
	if !ok {
		return protobufError("the body does not begin with the prefix of Kubernetes")
	}
	var raw []byte
	err := eachField(message, map[field]func([]byte) error{
		1: func(meta []byte) error {
			return decodeTexts(meta, map[field]*string{1: &into.APIVersion, 2: &into.Kind})
		},
		2: func(value []byte) error {
			raw = value
			return nil
		},
	})
	if err != nil || into.Kind == "SelfSubjectReview" { // a SelfSubjectReview has no spec
		return err
	}
	return eachField(raw, map[field]func([]byte) error{2: func(spec []byte) error { return decodeSpec(spec, into) }})
}

func decodeSpec(spec []byte, into *review) error {
	if into.Kind == "SelfSubjectRulesReview" {
		return decodeTexts(spec, map[field]*string{1: &into.Spec.Namespace})
	}
	return eachField(spec, map[field]func([]byte) error{
		1: func(value []byte) error {
			a := &resourceAttributes{}
			into.Spec.Resource = a
			return decodeTexts(value, map[field]*string{
				1: &a.Namespace, 2: &a.Verb, 3: &a.Group, 4: &a.Version, 5: &a.Resource, 6: &a.Subresource, 7: &a.Name,
			})
		},
		2: func(value []byte) error {
			a := &nonResourceAttributes{}
			into.Spec.NonResource = a
			return decodeTexts(value, map[field]*string{1: &a.Path, 2: &a.Verb})
		},
	})
}

func decodeTexts(message []byte, texts map[field]*string) error {
	fields := make(map[field]func([]byte) error, len(texts))
	for number, text := range texts {
		fields[number] = func(value []byte) error {
			*text = string(value)
			return nil
		}
	}
	return eachField(message, fields)
}

// eachField passes the value of each length-delimited field of a message to the function
// registered for the field number. It skips all other fields.
func eachField(message []byte, fields map[field]func([]byte) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protobufError("malformed tag")
		}
		message = message[n:]
		decode := fields[number]
		if decode == nil || kind != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
				return protobufError("malformed field")
			}
			message = message[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(message)
		if n < 0 {
			return protobufError("malformed length")
		}
		if err := decode(value); err != nil {
			return err
		}
		message = message[n:]
	}
	return nil
}
