// Package join adds columns of another collection to the objects of a collection.
//
// A joined column shows a column of the object that has the same key in the other
// collection, such as the CPU of a pod in the metrics of pods. It is Null while there is
// no such object.
//
// A [Join] keeps a cacher with the objects of the collection and all columns, in the
// arena of the collection and without bodies. Views read it like any other. Build
// computes it in steps. From then on, a change of an object in either collection revises
// one object of the join.
//
// When a list replaces one of the collections, the Join is outdated. Its caller closes
// it and creates another.
package join
