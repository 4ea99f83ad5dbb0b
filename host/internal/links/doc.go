// Package links checks the links of the Markdown files in this repository: files
// that they name must exist, and so must the headings. If the text of a link is code,
// the file must contain it: that is how documents refer to functions. Links to other sites are
// not followed. make lint and make docs run the test.
package links
