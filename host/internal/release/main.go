package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// options are the command-line options.
type options struct {
	repository string
	version    string
	out        string
	platforms  []platform
	imageOnly  bool
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if o.imageOnly {
		return imageFromWorkingTree(ctx, o, stdout, stderr)
	}
	return release(ctx, o, stdout, stderr)
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.repository, "C", ".", "the repository, or a directory in it")
	flags.StringVar(&o.version, "version", "", "the version, such as v0.2.0")
	flags.StringVar(&o.out, "out", "", "the directory to write to; it must be missing or empty")
	names := flags.String("platforms", defaultPlatforms, "the platforms to build binaries for")
	flags.BoolVar(&o.imageOnly, "image", false, "build the container image alone, from the working tree, without a tag")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("argument %q is one too many, expected: release -version VERSION -out DIRECTORY", flags.Arg(0))
	}
	if o.version == "" || o.out == "" {
		return options{}, errors.New("-version and -out are required, expected: release -version v0.2.0 -out build/release")
	}
	var err error
	if o.platforms, err = parsePlatforms(*names); err != nil {
		return options{}, err
	}
	if o.out, err = filepath.Abs(o.out); err != nil {
		return options{}, err
	}
	return o, nil
}

// platform is an operating system and an architecture, as values of GOOS and GOARCH.
type platform struct{ os, arch string }

const defaultPlatforms = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64"

func (p platform) String() string { return p.os + "/" + p.arch }

// executable returns the file name of the command.
func (p platform) executable() string {
	if p.os == "windows" {
		return "watchglass.exe"
	}
	return "watchglass"
}

func parsePlatforms(list string) ([]platform, error) {
	var all []platform
	for name := range strings.SplitSeq(list, ",") {
		goos, arch, ok := strings.Cut(name, "/")
		if !ok || goos == "" || arch == "" {
			return nil, fmt.Errorf("platform %q is malformed, expected OS/ARCH as in linux/amd64", name)
		}
		all = append(all, platform{goos, arch})
	}
	return all, nil
}
