status >= 500
