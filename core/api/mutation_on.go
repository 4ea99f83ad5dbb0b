//go:build mutant

package api

var mutation Mutation

// Mutate switches one deliberate bug on, and all others off.
func Mutate(m Mutation) { mutation = m }

// Mutations are all there are.
func Mutations() []Mutation {
	var all []Mutation
	for m := NoMutation + 1; m < mutations; m++ {
		all = append(all, m)
	}
	return all
}

// Mutated reports whether a deliberate bug is switched on.
func Mutated(m Mutation) bool { return mutation == m }
