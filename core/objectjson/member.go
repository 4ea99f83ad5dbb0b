package objectjson

// Member returns the JSON of a top-level member of a document. It returns nil if the
// document has no such member or is not an object. If members have the same name, Member
// uses the last one. The result aliases the document.
func Member(document []byte, name string) []byte {
	start := skipSpace(document, 0)
	if at(document, start) != '{' {
		return nil
	}
	var found []byte
	i, more := open(document, start, '}')
	for more {
		begin := i
		nameEnd, value, f := member(document, i)
		if f != sound {
			return nil
		}
		end, f := skipValue(document, value, 1)
		if f != sound {
			return nil
		}
		if sameText(document[begin+1:nameEnd-1], name) {
			found = document[value:end]
		}
		if i, more, f = next(document, end, '}'); f != sound {
			return nil
		}
	}
	return found
}
