// Package skeleton contains the dictionaries used to compress bodies.
//
// Every reader with any right to a resource receives the dictionary of that resource,
// so dictionaries contain no data of objects. They consist of public data: the member
// names of Kubernetes' own kinds in their usual order, and the values that Kubernetes
// itself sets. They depend only on the resource and its kind, and are compiled in.
// Custom resources, whose members beyond the metadata are unknown, share one
// skeleton.
//
// # Files
//
// Each file in kinds is named after a resource, as in deployments.apps, and contains a
// sequence of JSON values. The first is an object as Kubernetes writes it, with an empty
// string or the number -1 for each value that differs between objects. The dictionary
// contains this object twice. In the first copy, the members are in the order of the
// file, as Kubernetes stores built-in kinds. In the second copy, the members are sorted,
// as in custom resources and in the output of many tools. The other values are objects
// with optional members, which the dictionary contains without the outer braces.
//
// Some values are placeholders. "$metadata" and "$podspec" are replaced with the first
// value of the file with that name. The other values of that file are appended to the
// dictionary. "$apiVersion" and "$kind" are replaced with the values of the resource.
package skeleton

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"regexp"
	"strconv"

	"github.com/watchglass/watchglass/core/api"
)

//go:embed kinds
var kinds embed.FS

// custom is the file for resources without a file of their own.
const custom = "custom"

// shared are the names of the files whose values other files include.
var shared = []string{"podspec", "metadata"}

// Dictionary returns the dictionary for bodies of a resource. The result depends
// only on the arguments.
func Dictionary(resource api.Resource, kind string) []byte {
	name := resource.Name
	if resource.Group != "" {
		name += "." + resource.Group
	}
	values, err := read(name)
	if errors.Is(err, fs.ErrNotExist) {
		values, err = read(custom)
	}
	if err == nil {
		var dictionary []byte
		if dictionary, err = assemble(values, resource, kind); err == nil {
			return dictionary
		}
	}
	panic("skeleton: " + name + ": " + err.Error()) // the files are compiled in, and a test reads all of them
}

// assemble builds a dictionary from the values of a file.
func assemble(values []json.RawMessage, resource api.Resource, kind string) ([]byte, error) {
	main := values[0]
	fragments := values[1:]
	for _, name := range shared {
		included, err := read(name)
		if err != nil {
			return nil, err
		}
		before := len(main)
		main = bytes.ReplaceAll(main, []byte(`"$`+name+`"`), included[0])
		if len(main) > before || name == "metadata" {
			fragments = append(fragments, included[1:]...)
		}
	}
	main = bytes.ReplaceAll(main, []byte("$apiVersion"), []byte(resource.APIVersion()))
	main = bytes.ReplaceAll(main, []byte("$kind"), []byte(kind))
	dictionary := text(main)
	sorted, err := sortMembers(main)
	if err != nil {
		return nil, err
	}
	dictionary = append(dictionary, text(sorted)...)
	for _, f := range fragments {
		members := text(f)
		dictionary = append(dictionary, members[1:len(members)-1]...)
	}
	return dictionary, nil
}

// read returns the JSON values of a file in kinds.
func read(name string) ([]json.RawMessage, error) {
	data, err := kinds.ReadFile("kinds/" + name + ".json")
	if err != nil {
		return nil, err
	}
	var values []json.RawMessage
	for decoder := json.NewDecoder(bytes.NewReader(data)); ; {
		var value json.RawMessage
		switch err := decoder.Decode(&value); {
		case err == nil:
			values = append(values, value)
		case err == io.EOF && len(values) > 0:
			return values, nil
		default:
			return nil, errors.New("value " + strconv.Itoa(len(values)) + ": " + err.Error())
		}
	}
}

// variable matches the placeholder of a number that differs between objects.
var variable = regexp.MustCompile(`:-1\b`)

// text returns a value in the form that dictionaries contain: compact, and without
// the number -1.
func text(value json.RawMessage) []byte {
	var compact bytes.Buffer
	if err := json.Compact(&compact, value); err != nil {
		panic("skeleton: " + err.Error()) // the value was decoded from JSON
	}
	return variable.ReplaceAll(compact.Bytes(), []byte(":"))
}

// sortMembers sorts the members of objects by name.
func sortMembers(value json.RawMessage) (json.RawMessage, error) {
	var decoded any
	if err := json.Unmarshal(value, &decoded); err != nil {
		return nil, err
	}
	var sorted bytes.Buffer
	encoder := json.NewEncoder(&sorted)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(decoded); err != nil {
		return nil, err
	}
	return sorted.Bytes(), nil
}
