// The page of the HTTP API: Swagger UI. A request that is tried there carries the page's token, as those of the page do.
const root = document.getElementById("docs");
SwaggerUIBundle({
  url: "/api/openapi.json",
  domNode: root,
  validatorUrl: null,
  requestInterceptor: (request) => {
    request.headers["X-Page-Token"] = root.dataset.pageToken;
    return request;
  },
});
