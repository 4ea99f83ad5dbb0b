package rulebook

// SemanticsPath is the rulebook, relative to the root of the repository.
const SemanticsPath = "core/SEMANTICS.md"
