package lang

// Codes of the diagnostics of what exceeds a limit; see lang/worker.
const (
	CodeTime   = "LANG101"
	CodeMemory = "LANG102"
	CodeStack  = "LANG103"
)
