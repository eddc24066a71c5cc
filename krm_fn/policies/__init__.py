"""ValidatingAdmissionPolicies, evaluated as an API server does. Pure; loaded only if a bundle has a policy.

A policy goes through these modules, in this order:

1. `syntax` parses the expressions, which are written in the Common Expression Language (CEL). `types` checks them as the server
   does before it stores a policy, by the tables of `signatures` and the rules of `unification`.
2. `evaluation` makes each node a step: names with their fields (`attributes`), calls with their costs (`costs`), macros
   (`macros`). `compiled` does all this for a whole policy, and checks lists, maps and formats.
3. `matching` decides which policies, bindings and parameters concern an object; `admission` leads through them.
4. `judging` runs the steps (`running`), with the costs of the server and the work that a run may do (`base.work`).

`functions` has what the functions do: `arithmetic`, `texts`, `lists`, `times`, `formatting`, and Kubernetes' own in `amounts`,
`addresses`, `urls` and `named_formats`. Regular expressions are those of `base.regex`.

What can't be evaluated exactly as the server does is never guessed: `Unsupported` stops the policy, and a finding names the
expression and the reason. What only the cluster knows, such as who asks, is an `Unknown` value; the policy stops only if its
verdict depends on it.

The evaluator is our own. Three libraries were measured on 3,296 expressions with the answers of Kubernetes. On expressions
without Kubernetes' own functions, the best one (cel-expr-python 0.1.3) agreed in 97.6 % of the cases; on all others in at most
48.4 %. None has quantities, URLs, addresses, versions, `format()` as Kubernetes has it, the checks before a policy is stored,
or costs and their limits; a function of ours can't give it a value of a type of its own. It has no wheel for Alpine Linux, and
random expressions ended its whole process. A verdict that is wrong in 2 of 100 cases is no verdict.
"""
