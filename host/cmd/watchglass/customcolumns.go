package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/watchglass/watchglass/core/api"
)

// customColumnsPrefix is the start of an --output value with columns, as in kubectl.
const customColumnsPrefix = "custom-columns="

// parseCustomColumns returns the columns of --output, or nil if the flag selects another
// format.
func parseCustomColumns(output string) ([]api.Column, error) {
	spec, custom := strings.CutPrefix(output, customColumnsPrefix)
	if !custom {
		return nil, nil
	}
	var columns []api.Column
	for text := range strings.SplitSeq(spec, ",") {
		name, path, ok := strings.Cut(text, ":")
		if !ok || name == "" || path == "" {
			return nil, fmt.Errorf("--output %q: expected NAME:PATH and commas, such as custom-columns=NAME:.metadata.name,NODE:.spec.nodeName", output)
		}
		if inner, ok := strings.CutPrefix(path, "{"); ok {
			path = strings.TrimSuffix(inner, "}")
		}
		columns = append(columns, api.Column{Name: name, Kind: api.String, Path: path, Default: "<none>"})
	}
	return columns, nil
}

// checkCustomColumns parses the custom columns of --output. It returns an error if
// --group-by is also given.
func (f *readFlags) checkCustomColumns() (err error) {
	if f.columns, err = parseCustomColumns(f.output); err == nil && f.columns != nil && len(f.groups.by) > 0 {
		err = errors.New("--group-by: choose another --output than custom-columns")
	}
	return err
}
