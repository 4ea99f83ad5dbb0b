package api

import (
	"strings"

	"github.com/watchglass/watchglass/core/internal/lite"
)

// Owner is the owner reference of an object's controller, or the first owner reference
// if the object has no controller. Kind and Name are empty if only the UID is known.
type Owner struct{ Kind, Name, UID string }

// ownerKinds are the kinds that the text of an owner abbreviates to one digit, the index
// of the kind. The indexes are part of the wire format. The digit is unambiguous,
// because no kind begins with a digit.
var ownerKinds = [...]string{"ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob", "Deployment", "Node", "Service"}

// stem replaces the owner's name in the text if that name equals the object's name up to
// the last hyphen. Kubernetes does not allow percent signs in names.
const stem = "%"

// Append appends the text that represents the owner in the label set of the object with
// the given name. The text consists of kind, name and UID, separated by slashes. All pods
// of a controller have the same text. The text is the UID alone if the kind or the name
// is unknown or contains a slash.
func (o Owner) Append(dst []byte, object string) []byte {
	if o.Kind == "" || o.Name == "" || strings.IndexByte(o.Kind, '/') >= 0 || strings.IndexByte(o.Name, '/') >= 0 {
		if strings.IndexByte(o.UID, '/') >= 0 {
			dst = append(dst, "//"...)
		}
		return append(dst, o.UID...)
	}
	kind, name := o.Kind, o.Name
	for i := range ownerKinds {
		if kind == ownerKinds[i] {
			kind = string([]byte{'0' + byte(i)})
		}
	}
	if name == stemOf(object) {
		name = stem
	}
	dst = append(append(dst, kind...), '/')
	dst = append(append(dst, name...), '/')
	return append(dst, o.UID...)
}

// ParseOwner parses the text of an owner of the object with the given name. The result
// aliases both strings.
func ParseOwner(text, object string) Owner {
	kind, rest, _ := lite.Cut(text, '/')
	name, uid, ok := lite.Cut(rest, '/')
	if !ok {
		return Owner{UID: text}
	}
	if kind != "" && kind[0]-'0' < byte(len(ownerKinds)) {
		kind = ownerKinds[kind[0]-'0']
	}
	if name == stem {
		name = stemOf(object)
	}
	return Owner{Kind: kind, Name: name, UID: uid}
}

func stemOf(object string) string {
	return object[:max(strings.LastIndexByte(object, '-'), 0)]
}
