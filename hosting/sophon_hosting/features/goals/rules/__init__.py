"""Goals: plans that live for days; task graph, state machine, budgets, stability rules, planner and critic texts.

Everything here is a pure rule or a frozen value; a host runs the steps (`sophon_hosting.features.goals`).
"""
