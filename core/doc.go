// Package core is the engine.
package core
