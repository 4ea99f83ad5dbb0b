// Package settings sets the flags of a command from environment variables and a file.
//
// The flag --max-readers has the variable WATCHGLASS_MAX_READERS and the key
// max-readers in the file. A flag on the command line takes precedence over the
// variable, the variable over the file, and the file over the default. An unknown
// variable or key is an error, because a misspelled setting would have no effect.
package settings
