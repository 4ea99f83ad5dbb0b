// Package settings sets the flags of a command from environment variables and a file.
//
// For example, the variable WATCHGLASS_MAX_READERS or the key max-readers in the file sets the
// flag --max-readers. A flag on the command line takes precedence over the variable, the
// variable over the file, and the file over the default. An unknown variable or key is an error,
// because a misspelled setting would have no effect.
package settings
