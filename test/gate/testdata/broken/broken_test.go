package broken

import "testing"

func TestBroken(*testing.T) { missing() }
