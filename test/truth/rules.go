package truth

// RuleCalled is the rule that nobody is called twice in a short time.
const RuleCalled = "called"

// rules are all there are.
func rules() []rule {
	return []rule{
		{name: "fires", in: firesByTheList, of: firesByTheIncident},
		{name: "one cause", in: oneCause},
		{name: "color", in: colorByWords, of: colorByVerdict},
		{name: "now", of: readingsAreOfNow},
		{name: "before", of: beforeIsSaid},
		{name: "share", in: sharesEndAtAll},
		{name: "limit", in: oneLimit},
		{name: "worse", in: worseIsSaid},
		{name: "enough", in: adviceIsEnough, of: throttleBites},
		{name: "own change", in: ownChange},
		{name: "tried", in: triedIsNotFirst},
		{name: "still firing", of: stillFiringIsSaid},
		{name: "answered", over: askedIsAnswered},
		{name: "number", over: numbersHoldStill},
		{name: "buttons", over: buttonsStay},
		{name: RuleCalled, over: calledOnce},
		{name: "planned", over: plannedIsNoRollback},
	}
}
