package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"go.yaml.in/yaml/v3"
)

// maxFile is the maximum size of a settings file in bytes.
const maxFile = 1 << 20

func read(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(content) > maxFile:
		return nil, fmt.Errorf("%s: the file is larger than 1 MiB", path)
	}
	return content, nil
}

// parse returns the settings of a YAML file, in the order of the file.
func parse(path string, content []byte) ([]setting, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF): // the file is empty
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: expected one YAML document", path)
	}
	root := document.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" { // the file contains only comments or the value null
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s:%d: expected settings such as max-readers: 500", path, root.Line)
	}
	var settings []setting
	lines := map[string]int{}
	for i := 0; i < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		origin := fmt.Sprintf("%s:%d", path, key.Line)
		if key.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("%s: expected the name of a setting", origin)
		}
		if line := lines[key.Value]; line > 0 {
			return nil, fmt.Errorf("%s: %s is already set in line %d", origin, key.Value, line)
		}
		lines[key.Value] = key.Line
		s := setting{name: key.Value, origin: origin}
		var ok bool
		if s.values, ok = scalars(value); !ok {
			return nil, fmt.Errorf("%s: %s: expected a value, or a list of values", origin, key.Value)
		}
		s.list = value.Kind == yaml.SequenceNode
		settings = append(settings, s)
	}
	return settings, nil
}

// scalars returns the text of a scalar, or the texts of a list of scalars. For any other
// node, ok is false.
func scalars(node *yaml.Node) (values []string, ok bool) {
	switch {
	case node.Kind == yaml.ScalarNode && node.Tag != "!!null":
		return []string{node.Value}, true
	case node.Kind != yaml.SequenceNode:
		return nil, false
	}
	for _, one := range node.Content {
		if one.Kind != yaml.ScalarNode || one.Tag == "!!null" {
			return nil, false
		}
		values = append(values, one.Value)
	}
	return values, true
}
