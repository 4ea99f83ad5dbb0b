// Package links checks the links of the Markdown files in this repository. The
// linked files and headings must exist. If the text of a link is code, as in
// references to functions, the file must contain it. The package does not follow
// links to other sites. make lint and make docs run the test.
package links
