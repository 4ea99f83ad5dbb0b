package cacher
