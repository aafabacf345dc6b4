"""The one entrance for data from outside: it limits size, time and kind before any other part sees the data.

`files` reads files; `yaml_file`, `toml_file` and `table` read documents; `video` opens containers and streams;
`http_answer` takes the answers of webhooks. HTTP bodies arrive through `plate_nets/web/uploads.py`, pictures from
addresses through `plate_nets/web/fetch.py`, and `plate_nets/recognition/encoded.py` walks encoded pictures. Nothing
else opens such data; `tests/security/test_doors.py` checks this.
"""
