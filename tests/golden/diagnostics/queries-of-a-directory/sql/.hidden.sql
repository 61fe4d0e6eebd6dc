FROM hidden $x
