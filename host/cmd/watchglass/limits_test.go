package main

import (
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/limit"
)

func TestEveryLimitIsAFlagOfTheCommandsThatServe(t *testing.T) {
	root := newRootCommand()
	for _, command := range []string{"serve", "push", "demo"} {
		cmd, _, err := root.Find([]string{command})
		require.NoError(t, err)
		for _, l := range limit.All() {
			flag := cmd.Flags().Lookup(l.Name)
			require.NotNil(t, flag, "%s --%s", command, l.Name)
			byDefault := limit.Format(l.Unit, l.Default)
			if l.Automatic != "" {
				byDefault = l.Automatic
			}
			assert.Equal(t, byDefault, flag.DefValue)
			assert.Equal(t, l.Help, flag.Usage)
		}
	}
}

func TestALimitFlagSetsTheLimit(t *testing.T) {
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	limits := addLimits(flags)
	require.NoError(t, flags.Parse([]string{"--max-readers", "7", "--write-timeout", "90s", "--max-object-bytes=2MiB"}))
	assert.EqualValues(t, 7, limits.Value(limit.MaxReaders))
	assert.Equal(t, 90*time.Second, limits.Duration(limit.WriteTimeout))
	assert.EqualValues(t, 2<<20, limits.Value(limit.MaxObjectBytes))
	assert.Equal(t, time.Duration(limit.HelloTimeout.Default), limits.Duration(limit.HelloTimeout))
	for _, wrong := range []string{"--max-readers=0", "--max-readers=1e3", "--write-timeout=60", "--max-object-bytes=2MB"} {
		assert.ErrorContains(t, flags.Parse([]string{wrong}), "expected a")
	}
}
