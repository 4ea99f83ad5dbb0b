package links

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// skipped contains the names of directories that are not part of the repository.
var skipped = map[string]bool{"node_modules": true, "dist": true, "build": true, "bin": true, ".git": true}

// link is a link in a Markdown file.
type link struct {
	target string
	name   string // a name that the target file must contain, if the text of the link is code
}

// page is a parsed Markdown file.
type page struct {
	links   []link
	anchors map[string]bool // anchors of its headings
}

// Check checks all Markdown files below root. It returns descriptions of the problems in
// the order of the files, and the number of checked links.
func Check(root string) (problems []string, links int, err error) {
	pages := map[string]*page{}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && skipped[entry.Name()] {
			return fs.SkipDir
		}
		if filepath.Ext(path) != ".md" || entry.IsDir() {
			return nil
		}
		source, err := os.ReadFile(path)
		pages[path] = parse(source)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && skipped[entry.Name()] {
			return fs.SkipDir
		}
		if p := pages[path]; p != nil {
			links += len(p.links)
			for _, link := range p.links {
				if problem := check(root, path, link, pages); problem != "" {
					name, _ := filepath.Rel(root, path)
					problems = append(problems, fmt.Sprintf("%s: %q: %s", name, link.target, problem))
				}
			}
		}
		return nil
	})
	return problems, links, err
}

// check returns a description of the problem with a link in the file at path, or "" if
// the link is valid.
func check(root, path string, link link, pages map[string]*page) string {
	target, err := url.Parse(link.target)
	if err != nil {
		return "is no URL"
	}
	if target.Scheme != "" || target.Host != "" {
		return ""
	}
	if strings.HasPrefix(target.Path, "/") {
		return "is absolute; write it relative to the file"
	}
	file := path
	if target.Path != "" {
		file = filepath.Join(filepath.Dir(path), filepath.FromSlash(target.Path))
	}
	if outside, err := filepath.Rel(root, file); err != nil || strings.HasPrefix(outside, "..") {
		return "leads out of the repository"
	}
	info, err := os.Stat(file)
	if err != nil {
		return "the file does not exist"
	}
	if link.name != "" && !info.IsDir() {
		if content, err := os.ReadFile(file); err != nil || !hasName(string(content), link.name) {
			return "the file does not contain " + link.name
		}
	}
	if target.Fragment == "" {
		return ""
	}
	if p := pages[file]; p == nil {
		return "only Markdown files have anchors"
	} else if !p.anchors[target.Fragment] {
		return "the file has no such heading"
	}
	return ""
}

// parse collects the links and headings of a file.
func parse(source []byte) *page {
	p := &page{anchors: map[string]bool{}}
	document := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(source))
	// Walk returns an error only if its function does, and this function never does.
	_ = ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			p.links = append(p.links, link{string(n.Destination), codeOf(n, source)})
		case *ast.Image:
			p.links = append(p.links, link{target: string(n.Destination)})
		case *ast.Heading:
			p.addAnchor(plainText(n, source))
		}
		return ast.WalkContinue, nil
	})
	return p
}

// codeOf returns the text of a link that consists only of code, or "" for other links.
func codeOf(n ast.Node, source []byte) string {
	if code, ok := n.FirstChild().(*ast.CodeSpan); ok && n.ChildCount() == 1 {
		return plainText(code, source)
	}
	return ""
}

// hasName reports whether a text contains a name as a whole word.
func hasName(text, name string) bool {
	return regexp.MustCompile(`(^|[^\pL\pN_])` + regexp.QuoteMeta(name) + `($|[^\pL\pN_])`).MatchString(text)
}

// addAnchor adds the anchor of a heading. Like GitHub, it appends a number to a repeated
// anchor.
func (p *page) addAnchor(heading string) {
	name := anchor(heading)
	unique := name
	for i := 1; p.anchors[unique]; i++ {
		unique = name + "-" + strconv.Itoa(i)
	}
	p.anchors[unique] = true
}

// anchor returns the URL fragment that GitHub assigns to a heading.
func anchor(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(heading)) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}

func plainText(n ast.Node, source []byte) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(source))
		} else {
			b.WriteString(plainText(c, source))
		}
	}
	return b.String()
}
