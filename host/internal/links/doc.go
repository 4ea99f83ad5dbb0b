// Package links checks the links of the Markdown files in this repository. The linked
// files and headings must exist. If the text of a link is code, such as the name of a
// function, the linked file must contain that code. Links to other sites are not
// checked. "make lint" and "make docs" run the check as a test.
package links
