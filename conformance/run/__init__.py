"""One pass of the suite: plan, judge, collector, ending."""
