"""The one way in for what others wrote: bounded in size, time and kind before any other part sees it.

`files` reads files; `yaml_file`, `toml_file` and `table` read documents; `video` opens containers and streams;
`http_answer` takes the answers of webhooks. Bodies of HTTP come in by `plate_nets/web/uploads.py`, pictures of
addresses by `plate_nets/web/fetch.py`, and an encoded picture is walked by `plate_nets/recognition/encoded.py`. Nobody
else opens such things: `tests/security/test_doors.py` looks.
"""
