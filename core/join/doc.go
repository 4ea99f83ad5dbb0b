// Package join adds columns of other collections to the objects of a collection.
//
// A column with the printer [Printer] shows a column of the object that has the same key
// in another collection. For example, a pod can show the CPU column of its PodMetrics.
// The cell is Null if that object does not exist.
//
// A column with the printer [Children] counts the objects of another collection below an
// object, such as the pods of a Deployment. Such a column can also list the number of
// objects per value of another column, such as "Running 3, Pending 1". An object is below
// its owner. It is also below each owner further up, if the path of the column names all
// collections in between. Package [owners] defines owners.
//
// A [Join] keeps a cacher with the objects of the collection and all columns, without
// bodies. Views read this cacher like any other. Build computes the rows in steps. After
// that, a change to an object revises only the rows that show the object. A join that
// counts children also stores the counts of each owner.
//
// When a list replaces one of the collections, the Join is outdated. The caller must
// then close the Join and create another.
package join
