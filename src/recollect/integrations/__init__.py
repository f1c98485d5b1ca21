"""Where people work: callbacks and plugins that record a run, and trackers that a run is sent to.

Each is a thin shell around `recollect.Recorder`; the library that it belongs to is imported with its module, so that
`recollect.integrations.transformers` needs transformers, `.lightning` Lightning, and `.avalanche` Avalanche.
"""
