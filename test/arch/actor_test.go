package arch

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Who did something decides whether it counts, so a misspelled kind must not compile. A literal would.
func TestKindsOfActorsAreNamed(t *testing.T) {
	t.Parallel()
	var kinds []string
	for _, k := range incident.ActorKinds {
		kinds = append(kinds, string(k))
	}
	literal := func(e ast.Expr) (string, bool) {
		lit, ok := e.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(lit.Value)
		return text, err == nil
	}
	kindOf := func(e ast.Expr) bool {
		sel, ok := e.(*ast.SelectorExpr)
		return ok && sel.Sel.Name == "Kind"
	}
	for _, f := range parse(t) {
		if f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				for _, pair := range [][2]ast.Expr{{n.X, n.Y}, {n.Y, n.X}} {
					if text, ok := literal(pair[1]); ok && kindOf(pair[0]) && slices.Contains(kinds, text) {
						t.Errorf("%s compares a Kind with %q; use a constant", f.path, text)
					}
				}
			case *ast.CompositeLit:
				if typeName(n.Type) != "Actor" {
					return true
				}
				for _, e := range n.Elts {
					value := e
					if pair, ok := e.(*ast.KeyValueExpr); ok {
						if key, ok := pair.Key.(*ast.Ident); !ok || key.Name != "Kind" {
							continue
						}
						value = pair.Value
					}
					if text, ok := literal(value); ok {
						t.Errorf("%s makes an Actor of the kind %q; use a constant", f.path, text)
					}
				}
			}
			return true
		})
	}
}

// typeName is the name of a type, without its package.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}
