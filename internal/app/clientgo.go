package app

import (
	"log/slog"

	"k8s.io/klog/v2"
)

// LogClientGo sends what client-go logs by itself, of which there is one for the whole process, to the logger. Without
// it those lines go to standard error in a form of their own.
func LogClientGo(logger *slog.Logger) { klog.SetSlogLogger(logger.With("part", "client-go")) }
