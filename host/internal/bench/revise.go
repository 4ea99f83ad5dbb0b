package main

import (
	"bytes"
	"encoding/json"
)

// The following functions select the changes of P9 from the writes of the simulation.

// newStatus returns the new value if it changes the object's status, and nil otherwise.
func newStatus(was, is []byte) []byte {
	return ifChanged(was, is, "status")
}

// newTemplate returns the new value if it changes the pod template, which begins a rollout,
// and nil otherwise.
func newTemplate(was, is []byte) []byte {
	return ifChanged(was, is, "spec", "template")
}

func ifChanged(was, is []byte, path ...string) []byte {
	if bytes.Equal(at(was, path...), at(is, path...)) {
		return nil
	}
	return is
}

func at(object []byte, path ...string) json.RawMessage {
	raw := json.RawMessage(object)
	for _, name := range path {
		raw = decode[map[string]json.RawMessage](raw)[name]
	}
	return raw
}

// relabelled returns the object with the label "release" toggled between two values, as
// kubectl label would change it.
func relabelled(was, _ []byte) []byte {
	object := decode[map[string]any](was)
	metadata := object["metadata"].(map[string]any)
	labels := metadata["labels"].(map[string]any)
	managed := metadata["managedFields"].([]any)
	if labels["release"] == nil {
		managed = append(managed, map[string]any{
			"manager": "kubectl-label", "operation": "Update", "apiVersion": "v1", "time": "2026-05-01T12:00:00Z",
			"fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:metadata": map[string]any{"f:labels": map[string]any{"f:release": map[string]any{}}}},
		})
	}
	if labels["release"] == "canary" {
		labels["release"] = "stable"
	} else {
		labels["release"] = "canary"
	}
	metadata["managedFields"] = managed
	value, err := json.Marshal(object)
	if err != nil {
		panic(err) // impossible, because the value was decoded from JSON
	}
	return value
}

// decode parses JSON that the simulation has written. It panics on invalid JSON, which
// would be a bug in the simulation.
func decode[T any](data []byte) T {
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		panic(err)
	}
	return v
}
