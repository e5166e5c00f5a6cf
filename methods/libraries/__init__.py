"""Methods of other libraries, as they are: rows "library: method" beside ours."""
