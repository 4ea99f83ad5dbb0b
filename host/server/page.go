package server

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/watchglass/watchglass/host/internal/accept"
)

//go:embed all:page
var pageFiles embed.FS

func embedded() fs.FS {
	files, err := fs.Sub(pageFiles, "page")
	if err != nil {
		panic(err) // impossible, because the name is a valid constant
	}
	return files
}

// missingPage is served at / when the binary contains no dashboard.
const missingPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>watchglass</title>
<h1>The dashboard is not in this binary</h1>
<p>The connector itself works: readers connect to <code>/watch</code>.</p>
<p>To have the dashboard here, run <code>make build</code> in the repository and start <code>build/watchglass</code>.</p>
`

// hashed matches file names that contain a hash of the content, in esbuild's format.
var hashed = regexp.MustCompile(`-[A-Z2-7]{8}\.[a-z0-9]+$`)

// page serves files from memory, each compressed at most once.
type page struct {
	files map[string]*file // by URL path
}

type file struct {
	kind    string
	cache   string
	etag    string
	plain   []byte
	gzipped func() []byte // compressed at the first request; nil if compression does not help
}

// everyoneMark is inserted into the head of index.html if the server has no access control. All
// pages may then share one engine of watchglass, because all of them may read the same.
const everyoneMark = `<head><meta name="watchglass-access" content="everyone">`

func newPage(files fs.FS, everyone bool) (*page, error) {
	p := &page{files: map[string]*file{}}
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(entry.Name(), ".") {
			return err
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		if everyone && name == "index.html" {
			content = bytes.Replace(content, []byte("<head>"), []byte(everyoneMark), 1)
		}
		p.files["/"+name] = newFile(name, content)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if index, ok := p.files["/index.html"]; ok {
		p.files["/"] = index
	} else {
		p.files["/"] = newFile("index.html", []byte(missingPage))
	}
	return p, nil
}

// kinds maps file extensions to content types. Package mime would use the tables of the
// operating system, which differ between machines.
var kinds = map[string]string{
	".css":   "text/css; charset=utf-8",
	".html":  "text/html; charset=utf-8",
	".ico":   "image/x-icon",
	".js":    "text/javascript; charset=utf-8",
	".json":  "application/json",
	".map":   "application/json",
	".mjs":   "text/javascript; charset=utf-8",
	".png":   "image/png",
	".svg":   "image/svg+xml",
	".txt":   "text/plain; charset=utf-8",
	".wasm":  "application/wasm",
	".woff2": "font/woff2",
}

func newFile(name string, content []byte) *file {
	sum := sha256.Sum256(content)
	f := &file{
		kind:    kinds[path.Ext(name)],
		cache:   "no-cache",
		etag:    `"` + hex.EncodeToString(sum[:12]) + `"`,
		plain:   content,
		gzipped: sync.OnceValue(func() []byte { return compress(content) }),
	}
	if f.kind == "" {
		f.kind = mime.TypeByExtension(path.Ext(name))
	}
	if f.kind == "" {
		f.kind = "application/octet-stream"
	}
	if hashed.MatchString(name) {
		f.cache = "public, max-age=31536000, immutable"
	}
	return f
}

// compress returns the compressed content, or nil if compression saves less than a
// tenth.
func compress(content []byte) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		panic(err) // impossible, because the level is a valid constant
	}
	w.Write(content) // cannot fail, because the buffer is in memory
	w.Close()
	if b.Len() > len(content)*9/10 {
		return nil
	}
	return b.Bytes()
}

// ServeHTTP implements http.Handler.
func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f := p.files[r.URL.Path]
	if f == nil {
		http.Error(w, "no page exists at "+path.Clean(r.URL.Path), http.StatusNotFound)
		return
	}
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Cache-Control", f.cache)
	content, etag := f.plain, f.etag
	h.Set("Vary", "Accept-Encoding")
	if accept.Gzip(r.Header) {
		if gzipped := f.gzipped(); gzipped != nil {
			h.Set("Content-Encoding", "gzip")
			content, etag = gzipped, strings.TrimSuffix(f.etag, `"`)+`-gz"`
		}
	}
	h.Set("ETag", etag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}
