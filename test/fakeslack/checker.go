package fakeslack

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// object is one decoded JSON object.
type object = map[string]any

// checker holds one payload against the rules of schema.go and collects everything that is wrong with it. Lengths are
// counted in characters (code points), as Slack's messages say.
type checker struct {
	details []string
	text    int // characters that a person reads
}

func (c *checker) fail(at, format string, args ...any) {
	c.details = append(c.details, fmt.Sprintf(format, args...)+" [json-pointer:"+at+"]")
}

// rule says what one JSON value must be.
type rule interface {
	check(c *checker, v any, at string)
}

// str is a string of 1 to most characters. What is shown counts towards the text of the whole payload.
type str struct {
	most  int
	shown bool
}

func (r str) check(c *checker, v any, at string) {
	s, ok := v.(string)
	if !ok {
		c.fail(at, "must be a string")
		return
	}
	n := utf8.RuneCountInString(s)
	if n == 0 {
		c.fail(at, "must be more than 0 characters")
	}
	if n > r.most {
		c.fail(at, "must be less than %d characters", r.most+1)
	}
	if r.shown {
		c.text += n
	}
}

// simple is anything for which holds is true.
type simple struct {
	must  string
	holds func(v any) bool
}

func (r simple) check(c *checker, v any, at string) {
	if !r.holds(v) {
		c.fail(at, "must be %s", r.must)
	}
}

var (
	flag = simple{"a boolean", func(v any) bool { _, ok := v.(bool); return ok }}
	// number needs no bounds: JSON has no NaN and no infinity, so one that decodes is finite.
	number  = simple{"a number", func(v any) bool { _, ok := v.(float64); return ok }}
	decimal = simple{"a number of at most 15 digits, in a string", func(v any) bool {
		s, _ := v.(string)
		return decimalForm.MatchString(s) && len(s) <= 15
	}}
	link = simple{fmt.Sprintf("a valid URL of less than %d characters", maxURL+1), func(v any) bool {
		s, _ := v.(string)
		u, err := url.Parse(s)
		return err == nil && u.Scheme != "" && (u.Host != "" || u.Opaque != "") && utf8.RuneCountInString(s) <= maxURL
	}}
)

var decimalForm = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)

func enum(words ...string) simple {
	return simple{"a valid enum value: " + strings.Join(words, ", "), func(v any) bool {
		s, ok := v.(string)
		return ok && slices.Contains(words, s)
	}}
}

func whole(least, most int) simple {
	return simple{fmt.Sprintf("a whole number from %d to %d", least, most), func(v any) bool {
		n, ok := v.(float64)
		return ok && n >= float64(least) && n <= float64(most) && n == float64(int(n))
	}}
}

// array is a list of least to most items. No two of them may have the same string in the property unique.
type array struct {
	least, most int
	of          rule
	unique      string
}

func (r array) check(c *checker, v any, at string) {
	items, ok := v.([]any)
	if !ok {
		c.fail(at, "must be an array")
		return
	}
	if len(items) < r.least {
		c.fail(at, "no less than %d items allowed", r.least)
	}
	if len(items) > r.most {
		c.fail(at, "no more than %d items allowed", r.most)
	}
	seen := map[string]bool{}
	for i, item := range items {
		where := fmt.Sprintf("%s/%d", at, i)
		r.of.check(c, item, where)
		o, _ := item.(object)
		if id := text(o, r.unique); id != "" {
			if seen[id] {
				c.fail(where+"/"+r.unique, "`%s` already exists", r.unique)
			}
			seen[id] = true
		}
	}
}

// props are the properties of an object by their names.
type props map[string]rule

// shape is an object with properties that it must have, others that it may have, and none besides.
type shape struct {
	must, may props
	// also checks what no property shows by itself.
	also func(c *checker, o object, at string)
}

func (r shape) check(c *checker, v any, at string) {
	o, ok := v.(object)
	if !ok {
		c.fail(at, "must be an object")
		return
	}
	for _, key := range slices.Sorted(maps.Keys(r.must)) {
		if _, has := o[key]; !has {
			c.fail(at, "missing required field: %s", key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		property, known := r.must[key]
		if !known {
			property, known = r.may[key]
		}
		if !known {
			c.fail(at, "invalid additional property: %s", key)
			continue
		}
		property.check(c, o[key], at+"/"+key)
	}
	if r.also != nil {
		r.also(c, o, at)
	}
}

// variants are objects that their property "type" tells apart.
type variants map[string]shape

func (r variants) check(c *checker, v any, at string) {
	o, ok := v.(object)
	if !ok {
		c.fail(at, "must be an object")
		return
	}
	kind := text(o, "type")
	s, known := r[kind]
	if !known {
		c.fail(at, "unsupported type: %s", kind)
		return
	}
	s.check(c, v, at)
}

// variantsOf adds "type", and what all of them may have, to the shapes.
func variantsOf(shared props, shapes ...map[string]shape) variants {
	out := variants{}
	for _, more := range shapes {
		for kind, s := range more {
			may := props{"type": enum(kind)}
			maps.Copy(may, s.may)
			maps.Copy(may, shared)
			s.may = may
			out[kind] = s
		}
	}
	return out
}
