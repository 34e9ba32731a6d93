package incident

// transitions is the state machine: for each state, the events that it takes and the states that may follow. An event
// that is not listed is refused. docs/states.md shows this table; a test compares them.
var transitions = map[State]map[EventKind][]State{
	StateReceived: {
		KindAlerts:       {StateReceived},
		KindGathered:     {StateReceived},
		KindStarted:      {StateInvestigating},
		KindMuted:        {StateWatching},
		KindAborted:      {StateWatching},
		KindAcked:        {StateReceived},
		KindNoted:        {StateReceived},
		KindSetback:      {StateReceived},
		KindDrillStarted: {StateReceived},
		KindDrillSeen:    {StateReceived},
		KindDrillEnded:   {StateClosed},
	},
	StateInvestigating: {
		KindAlerts:       {StateInvestigating},
		KindGathered:     {StateInvestigating},
		KindInvestigated: {StateProposed, StateWatching},
		KindMuted:        {StateWatching},
		KindAborted:      {StateWatching},
		KindAcked:        {StateInvestigating},
		KindNoted:        {StateInvestigating},
		KindSetback:      {StateInvestigating},
		KindDrillSeen:    {StateInvestigating},
		KindDrillEnded:   {StateClosed},
	},
	StateProposed: {
		KindAlerts:     {StateProposed},
		KindGathered:   {StateProposed},
		KindAsked:      {StateDeciding},
		KindDecided:    {StateProposed, StateApplying, StateUndoing, StateWatching},
		KindMuted:      {StateWatching},
		KindAborted:    {StateWatching},
		KindAcked:      {StateProposed},
		KindNoted:      {StateProposed},
		KindSetback:    {StateProposed},
		KindDrillSeen:  {StateProposed},
		KindDrillEnded: {StateClosed},
	},
	StateDeciding: {
		KindAlerts:       {StateDeciding},
		KindGathered:     {StateDeciding},
		KindInvestigated: {StateDeciding, StateProposed, StateWatching},
		KindDecided:      {StateDeciding, StateApplying, StateUndoing, StateWatching},
		KindReminded:     {StateDeciding},
		KindEscalated:    {StateDeciding},
		KindExpired:      {StateWatching},
		KindNarrowed:     {StateDeciding},
		KindUndoStarted:  {StateUndoing},
		KindAborted:      {StateWatching},
		KindAcked:        {StateDeciding},
		KindNoted:        {StateDeciding},
		KindSetback:      {StateDeciding},
		KindDrillSeen:    {StateDeciding},
		KindDrillEnded:   {StateClosed},
	},
	StateApplying: {
		KindAlerts:     {StateApplying},
		KindGathered:   {StateApplying},
		KindRefused:    {StateDeciding, StateWatching},
		KindClaimed:    {StateApplying},
		KindUnanswered: {StateApplying},
		KindWritten:    {StateSettling, StateVerifying, StateDeciding, StateWatching},
		KindReverted:   {StateDeciding, StateWatching},
		KindAborted:    {StateWatching},
		KindAcked:      {StateApplying},
		KindNoted:      {StateApplying},
		KindSetback:    {StateApplying},
		KindDrillSeen:  {StateApplying},
		KindDrillEnded: {StateClosed},
	},
	StateSettling: {
		KindAlerts:      {StateSettling},
		KindGathered:    {StateSettling},
		KindRolledOut:   {StateSettling, StateVerifying},
		KindSettled:     {StateVerifying},
		KindReverted:    {StateDeciding, StateWatching},
		KindDecided:     {StateUndoing},
		KindUndoStarted: {StateUndoing},
		KindAborted:     {StateWatching},
		KindAcked:       {StateSettling},
		KindNoted:       {StateSettling},
		KindSetback:     {StateSettling},
		KindDrillSeen:   {StateSettling},
		KindDrillEnded:  {StateClosed},
	},
	StateVerifying: {
		KindAlerts:      {StateVerifying},
		KindGathered:    {StateVerifying},
		KindVerified:    {StateVerifying, StateWatching, StateDeciding, StateUndoing},
		KindReverted:    {StateDeciding, StateWatching},
		KindDecided:     {StateUndoing},
		KindUndoStarted: {StateUndoing},
		KindAborted:     {StateWatching},
		KindAcked:       {StateVerifying},
		KindNoted:       {StateVerifying},
		KindSetback:     {StateVerifying},
		KindDrillSeen:   {StateVerifying},
		KindDrillEnded:  {StateClosed},
	},
	StateUndoing: {
		KindAlerts:     {StateUndoing},
		KindGathered:   {StateUndoing},
		KindRefused:    {StateWatching},
		KindClaimed:    {StateUndoing},
		KindUnanswered: {StateUndoing},
		KindWritten:    {StateUndoing, StateWatching},
		KindRolledOut:  {StateWatching},
		KindReverted:   {StateWatching},
		KindAborted:    {StateWatching},
		KindAcked:      {StateUndoing},
		KindNoted:      {StateUndoing},
		KindSetback:    {StateUndoing},
		KindDrillSeen:  {StateUndoing},
		KindDrillEnded: {StateClosed},
	},
	StateWatching: {
		KindAlerts:       {StateWatching},
		KindGathered:     {StateWatching},
		KindInvestigated: {StateWatching, StateProposed},
		KindDecided:      {StateUndoing, StateWatching},
		KindAskedAgain:   {StateInvestigating},
		KindUndoStarted:  {StateUndoing},
		KindReverted:     {StateWatching},
		KindAcked:        {StateWatching},
		KindNoted:        {StateWatching},
		KindSetback:      {StateWatching},
		KindRerouted:     {StateWatching},
		KindClosed:       {StateClosed},
		KindDrillSeen:    {StateWatching},
		KindDrillEnded:   {StateClosed},
	},
	StateClosed: {
		KindAlerts: {StateInvestigating, StateWatching, StateClosed},
	},
}

// Transition is one row of the state machine.
type Transition struct {
	From State
	On   EventKind
	To   State
}

// Transitions lists the state machine in the order of States, EventKinds and the table.
func Transitions() []Transition {
	var out []Transition
	for _, from := range States() {
		for _, on := range EventKinds() {
			for _, to := range transitions[from][on] {
				out = append(out, Transition{from, on, to})
			}
		}
	}
	return out
}
