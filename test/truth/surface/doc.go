// Package surface reads a page and a terminal as a person does, and hands on what package truth holds to its rules: the
// text with its headline first, in the words that are there. It knows the layout of the page, its headings and the
// heads of its tables, and no code that makes them.
package surface
