"""ValidatingAdmissionPolicies, evaluated as an API server does. Pure; loaded only if a bundle has a policy.

`syntax` parses the Common Expression Language (CEL), `types` checks an expression as the server does before it stores a policy,
`evaluation` runs it, `functions` has the functions that Kubernetes offers there. `matching` decides which policies and bindings
concern an object, `admission` puts all of it together.

No library evaluates these expressions as Kubernetes does: each lacks most of its functions, values of their types, the checks
before a policy is stored, or parts of the syntax. So the evaluator is our own. What it can't evaluate exactly as the server
does is never guessed: `Unsupported` stops the policy, and a finding names the expression and the reason.
"""
