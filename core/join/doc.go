// Package join adds columns of other collections to the objects of a collection.
//
// A column with the printer [Printer] shows a column of the object that has the same key
// in the other collection, such as the CPU of a pod in the metrics of pods. It is Null
// while there is no such object.
//
// A column with the printer [Children] counts the objects of another collection below an
// object, such as the pods of a Deployment, or lists how many have which value of a
// column, such as "Running 3, Pending 1". An object is below its owner, and below the
// owners of that in the collections that the path of the column names. Owners are those of
// package [owners].
//
// A [Join] keeps a cacher with the objects of the collection and all columns, without
// bodies. Views read it like any other. Build computes it in steps. From then on, a change
// of an object revises the rows that show it, and no others. A join of children also keeps
// the counts of each owner.
//
// When a list replaces one of the collections, the Join is outdated. Its caller closes
// it and creates another.
package join
