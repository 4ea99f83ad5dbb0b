package lite

// The generic functions of package slices are compiled once per element type, and would
// make up a tenth of the WebAssembly module. The functions below share their code between
// element types.

// Sort sorts the list in place, and keeps the order of equal elements. It allocates a
// copy of the list.
func Sort[T any](list []T, before func(a, b *T) bool) {
	order := sortedOrder(len(list), func(i, j int) bool { return before(&list[i], &list[j]) })
	if order == nil {
		return
	}
	sorted := make([]T, len(list))
	for i, from := range order {
		sorted[i] = list[from]
	}
	copy(list, sorted)
}

// SortStrings sorts the list in ascending byte order.
func SortStrings[S ~string](list []S) { Sort(list, func(a, b *S) bool { return *a < *b }) }

// sortedOrder returns the indices 0 to n-1 in sorted order, or nil if they are
// already sorted. It is a merge sort.
func sortedOrder(n int, before func(i, j int) bool) []int32 {
	inOrder := true
	for i := 1; i < n && inOrder; i++ {
		inOrder = !before(i, i-1)
	}
	if inOrder {
		return nil
	}
	from, to := make([]int32, n), make([]int32, n)
	for i := range from {
		from[i] = int32(i)
	}
	for width := 1; width < n; width *= 2 {
		for start := 0; start < n; start += 2 * width {
			middle, end := min(start+width, n), min(start+2*width, n)
			merge(to[start:end], from[start:middle], from[middle:end], before)
		}
		from, to = to, from
	}
	return from
}

func merge(to, left, right []int32, before func(i, j int) bool) {
	for i := range to {
		if len(right) == 0 || len(left) > 0 && !before(int(right[0]), int(left[0])) {
			to[i], left = left[0], left[1:]
		} else {
			to[i], right = right[0], right[1:]
		}
	}
}

// Insert inserts an element at position i.
func Insert[T any](list []T, i int, element T) []T {
	list = append(list, element)
	copy(list[i+1:], list[i:])
	list[i] = element
	return list
}

// RemoveAt removes the element at position i.
func RemoveAt[T any](list []T, i int) []T {
	copy(list[i:], list[i+1:])
	var zero T
	list[len(list)-1] = zero // release the reference
	return list[:len(list)-1]
}

// Remove removes the first occurrence of a pointer from the list.
func Remove[T any](list []*T, element *T) []*T {
	for i := range list {
		if list[i] == element {
			return RemoveAt(list, i)
		}
	}
	return list
}
